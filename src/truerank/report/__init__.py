"""Reports: text and figures. This room renders what others computed."""
